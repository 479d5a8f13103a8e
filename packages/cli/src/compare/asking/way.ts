/** How a question is asked: over UDP, over TCP, and over UDP with an OPT record. */
export const WAYS = ['udp', 'tcp', 'edns'] as const;
export type Way = (typeof WAYS)[number];

/** The two name servers. */
export const SIDES = ['left', 'right'] as const;
export type Side = (typeof SIDES)[number];
