/** What the images set for the C library's malloc; the reasons are in `images/README.md`. */
export const IMAGE_ENVIRONMENT: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_TRIM_THRESHOLD_: '65536',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TOP_PAD_: '16384',
};
