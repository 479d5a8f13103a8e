import type * as dgram from 'node:dgram';
import { createHash } from 'node:crypto';
import { encodeReply, questionOf } from '@kube-dns/testkit';

/** The address that the name server of the outside gives for a name: each name has its own. */
export function outsideAddress(name: string): string {
  const [b, c, d] = createHash('sha256').update(name.toLowerCase()).digest();
  return `198.${18 + (b! & 1)}.${c!}.${d!}`;
}

/** Seconds. */
const TTL = 60;

/** A name server for all names outside of the cluster: A has `outsideAddress`, all else has no data. */
export function answerUpstream(load: (module: string) => unknown): void {
  const { createSocket } = load('dgram') as typeof dgram;
  const socket = createSocket('udp4');
  socket.on('message', (bytes, peer) => {
    const question = questionOf(bytes);
    const answers =
      question.type === 'A'
        ? [{ type: 'A' as const, ttl: TTL, data: outsideAddress(question.name) }]
        : [];
    socket.send(encodeReply(bytes, { answers }), peer.port, peer.address);
  });
  socket.bind(53);
}
