/*
 * PTX of an image that only later GPUs have: instructions behind a mark that makes comments of them. A runtime that finds such a GPU
 * blanks the marks and raises version and target, which are as long (with_marked() in runtime/device/cuda); GPUs before ignore all this.
 */
#ifndef XF_PTX_H
#define XF_PTX_H

/* Where the text begins with what it is for: */
#define XF_PTX_VERSION "7.0"
#define XF_PTX_TARGET "sm_80"

/* Launches that start before those before them have ended: compute capability 9.0. */
#define XF_PTX_MARK "//@sm_90 "
#define XF_PTX_MARKED_CAPABILITY 90
#define XF_PTX_MARKED_VERSION "7.8"
#define XF_PTX_MARKED_TARGET "sm_90"

#endif
