import type { Attack } from './attack.js';
import { BIRTHDAY } from './birthday.js';
import { FLOODS } from './floods.js';
import { NOTIFY_FLOODS } from './notify-floods.js';
import { SPOOFING } from './spoofing.js';
import { TCP_ATTACKS } from './tcp-attacks.js';

/** All attacks, in the order in which they are made. */
export const ATTACKS: readonly Attack[] = [
  ...FLOODS,
  ...NOTIFY_FLOODS,
  SPOOFING,
  BIRTHDAY,
  ...TCP_ATTACKS,
];
