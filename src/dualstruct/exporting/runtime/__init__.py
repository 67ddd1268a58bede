"""What an exported model runs on: plain Python without dependencies, put into one file by
:mod:`dualstruct.exporting.python`, and the same in JavaScript (``*.mjs``)."""
