// A name server that answers each query with one rcode: `node name-server.mjs RCODE ADDRESS...`.
import { Buffer } from 'node:buffer';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const PORT = 53;
const RESPONSE = 0x80;

function reply(query, rcode) {
  const message = Buffer.from(query);
  message[2] |= RESPONSE;
  message[3] = rcode;
  return message;
}

async function listenUdp(address, rcode) {
  const type = address.includes(':') ? 'udp6' : 'udp4';
  const socket = createSocket({ type, reusePort: true });
  socket.on('message', (query, from) => socket.send(reply(query, rcode), from.port, from.address));
  await new Promise((resolve) => socket.bind(PORT, address, resolve));
}

async function listenTcp(address, rcode) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      socket.end(Buffer.concat([data.subarray(0, 2), reply(data.subarray(2), rcode)]));
    });
  });
  await new Promise((resolve) =>
    server.listen({ port: PORT, host: address, reusePort: true }, resolve),
  );
}

/** Listens on these addresses, over UDP and TCP. */
export async function listen(rcode, addresses) {
  for (const address of addresses) {
    await listenUdp(address, rcode);
    await listenTcp(address, rcode);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [rcode, ...addresses] = process.argv.slice(2);
  await listen(Number(rcode), addresses);
  console.log('there');
}
