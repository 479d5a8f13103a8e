/** No slot, no cell: the end of a list of numbers. */
export const NONE = -1;
