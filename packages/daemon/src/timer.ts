/** The longest delay of a Node timer; a longer one fires immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
