/** The longest that a timer of Node can wait; it fires at once when it is asked for more. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
