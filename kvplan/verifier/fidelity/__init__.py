"""What a quantized cache costs in quality: a real model run with it and without, on samples whose answers are known and on plain text."""
