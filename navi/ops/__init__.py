"""The hot loops: C++ with a small Python face and a numpy reference each."""
