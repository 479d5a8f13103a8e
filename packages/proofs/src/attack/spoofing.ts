import { type Attack, countText } from './attack.js';
import { DOMAINS } from './names.js';

const GUESSES_PER_SECOND = 12_000;

/** Forged replies to questions in flight; one field of each is wrong. */
export const SPOOFING: Attack = {
  name: 'spoofed-replies',
  target: 'dnsmasq',
  summary: `${countText(GUESSES_PER_SECOND, 'forged replies/s')} to questions in flight: wrong ID, port, address, name or type`,
  start: async ({ attackers, port, strength, lastWordMs }) => {
    const { spoofer } = attackers;
    await spoofer.call('start', port, DOMAINS.silent, GUESSES_PER_SECOND * strength);
    return {
      finish: async () => {
        const result = await spoofer.call('finish', lastWordMs);
        const guesses = Object.values(result.guesses).reduce((sum, count) => sum + count, 0);
        const questions = countText(result.questions, 'questions');
        return {
          did: `${countText(guesses, 'guesses')} at ${questions}, ${result.accepted} accepted`,
          perSecond: result.perSecond,
          accepted: result.accepted,
          guesses: result.questions > 0 ? guesses : 0,
        };
      },
    };
  },
};
