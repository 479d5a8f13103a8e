/** No slot, cell or key: the end of a list of numbers. */
export const NONE = -1;
