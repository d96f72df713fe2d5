"""The logs of engines that kvplan reads and does not model: a file for each."""
