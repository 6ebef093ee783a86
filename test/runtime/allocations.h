// Counts what the process asks of malloc, operator new and mmap.
#ifndef TEST_RUNTIME_ALLOCATIONS_H
#define TEST_RUNTIME_ALLOCATIONS_H

// Sanitizers bring an allocator of their own: then nothing is counted.
bool xf_test_counts_allocations();
long xf_test_allocations();
// The most bytes of malloc's that were in use at once since the last call, beyond those that are in use now.
long xf_test_peak();

#endif
