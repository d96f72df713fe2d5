"""One module per engine: how its server is recognized in a command or an image, and which of its flags mean what."""
