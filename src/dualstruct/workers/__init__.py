"""Workers that train one model together: what they say to each other, and what they run on."""
