"""How long tests wait for something before they say that it hangs: also on a very busy machine."""

#: Seconds.
HANGS = 900.0
