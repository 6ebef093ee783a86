// A library precompiles headers for a source file of its own.
