import type { Attack } from './attack.js';
import { BIRTHDAY } from './birthday.js';
import { FLOODS } from './floods.js';
import { SPOOFING } from './spoofing.js';
import { TCP_ATTACKS } from './tcp-attacks.js';

/** All attacks, in the order in which they are made. */
export const ATTACKS: readonly Attack[] = [...FLOODS, SPOOFING, BIRTHDAY, ...TCP_ATTACKS];
