"""The command line: one module a command; options in, one call, result out."""
