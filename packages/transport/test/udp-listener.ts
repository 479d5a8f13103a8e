import { type Lifetime, UdpClient } from '@kube-dns/testkit';
import { encodeQuery } from '@kube-dns/wire';
import type { Answerer } from '../src/answerer.js';
import { listen, type ListenOptions } from '../src/listener.js';
import { answerWith } from './messages.js';

export const question = (name = 'web.x', id = 7) => encodeQuery({ id, name, type: 'A' });

/** An answerer of one function. */
export function answers(answer: Answerer['answer']): Answerer {
  return { answer };
}

export const oneAddress = answers((query, out) => answerWith(query, out, ['10.0.0.1']));

/** Starts listeners with an engine, each with a client; `opened` ends them. */
export const starter =
  (opened: Lifetime, engine: NonNullable<ListenOptions['engine']>) =>
  async (answerer: Answerer, options: Partial<ListenOptions> = {}) => {
    const failures: unknown[] = [];
    const onFailure = (error: unknown) => void failures.push(error);
    const all = { answerer, address: '127.0.0.1', port: 0, onFailure, engine, ...options };
    const listener = opened(await listen(all));
    const client = opened(await UdpClient.connect(listener.port, all.address));
    return { listener, client, failures };
  };
