import { get } from 'node:http';
import { systemReason } from '@kube-dns/base';
import type { Explanation } from '@kube-dns/telemetry';

const NO_PAGE = 'it has no page /explain: it is older, or another program';
const LOOPBACK = '127.0.0.1';
/** Longer than any program waits for its servers. */
const LIMIT_MS = 20_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Asks one page; rejects with an Error whose message says why there is no explanation. */
export async function askPage(
  port: number,
  name: string,
  type: string,
  client: string | undefined,
): Promise<Explanation> {
  const query = new URLSearchParams({ name, type, ...(client !== undefined && { client }) });
  const { status, body } = await fetchText(port, `/explain?${query.toString()}`);
  if (status === 404) throw new Error(NO_PAGE);
  const value = parse(body);
  if (status !== 200) {
    const { error } = Object(value) as { error?: unknown };
    throw new Error(typeof error === 'string' ? error : `HTTP status ${status}`);
  }
  if (!isExplanation(value)) throw new Error('its answer is no explanation');
  return value;
}

/** Why a port has no page that explains; undefined when it has. */
export async function checkPage(port: number): Promise<string | undefined> {
  try {
    // Without a name it is refused, and costs nothing.
    const { status, body } = await fetchText(port, '/explain');
    const { error } = Object(parse(body)) as { error?: unknown };
    return status === 400 && typeof error === 'string' ? undefined : NO_PAGE;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // of another program
  }
}

/** What the texts of the command are made of; the facts beside them are shown as JSON only. */
function isExplanation(value: unknown): value is Explanation {
  const { program, question, steps, verdict } = Object(value) as Partial<Explanation>;
  return (
    typeof program === 'string' &&
    typeof question?.name === 'string' &&
    Array.isArray(steps) &&
    steps.every((one: unknown) => typeof (Object(one) as { text?: unknown }).text === 'string') &&
    verdict !== undefined &&
    [verdict.answers, verdict.authorities, verdict.ede, verdict.flags].every(Array.isArray)
  );
}

function fetchText(port: number, path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const fail = (error: unknown) =>
      reject(
        new Error(signal.aborted ? `no answer within ${LIMIT_MS / 1_000} s` : systemReason(error)),
      );
    const request = get({ host: LOOPBACK, port, path, signal, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        if ((size += chunk.length) > MAX_BYTES)
          response.destroy(new Error('its answer is too long'));
      });
      response.on('error', fail);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') });
      });
    });
    request.on('error', fail);
  });
}
