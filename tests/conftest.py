"""What all tests share."""

import signal

# A run in the background starts with Ctrl-C ignored; the tests that send it need it heard. Child
# processes get the default back.
signal.signal(signal.SIGINT, signal.default_int_handler)
