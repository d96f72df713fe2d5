"""What a step of a model computes, as far as memory sees it: tensors, who reads them, and where they lie while they live."""
