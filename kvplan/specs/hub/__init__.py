"""Models named as ids or addresses of the Hub: their files are listed, configs and headers read, weights never downloaded."""
