// Counts the process's calls of malloc, operator new and mmap.
#ifndef TEST_RUNTIME_ALLOCATIONS_H
#define TEST_RUNTIME_ALLOCATIONS_H

// Nothing is counted with sanitizers, which have their own allocator.
bool xf_test_counts_allocations();
long xf_test_allocations();
// The most bytes from malloc in use at once since the previous call of this function, minus those in use now.
long xf_test_peak();

#endif
