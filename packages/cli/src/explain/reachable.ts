import { checkPage } from './page-client.js';
import { EXPLAINER_NAMES, EXPLAINERS, type ExplainerName } from './programs.js';

/** A program that explains, and its port on this machine. */
export interface Reached {
  readonly program: ExplainerName;
  readonly port: number;
}

/** A program that cannot be asked: why, and what to do. */
export interface Missed {
  readonly program: ExplainerName;
  readonly reason: string;
  readonly advice: string;
}

/** The programs that can be asked, those next to the client first, and those that cannot. */
export async function findPrograms(
  ports: Readonly<Record<ExplainerName, readonly number[]>>,
): Promise<{ reached: readonly Reached[]; missed: readonly Missed[] }> {
  const found = await Promise.all(EXPLAINER_NAMES.map((program) => find(program, ports[program])));
  return {
    reached: found.filter((one): one is Reached => 'port' in one),
    missed: found.filter((one): one is Missed => 'reason' in one && one.reason !== ''),
  };
}

async function find(program: ExplainerName, ports: readonly number[]): Promise<Reached | Missed> {
  const { advice } = EXPLAINERS[program];
  const reasons: string[] = [];
  for (const port of ports) {
    const reason = await checkPage(port);
    if (reason === undefined) return { program, port };
    reasons.push(`127.0.0.1:${port}: ${reason}`);
  }
  return { program, reason: reasons.join('; '), advice };
}
