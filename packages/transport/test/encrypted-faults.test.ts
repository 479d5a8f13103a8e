import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EncryptedNameServer, TestAuthority } from '@kube-dns/testkit';
import {
  ADDRESS,
  addressesOf,
  addressOfName,
  ask,
  askMany,
  authority,
  EncryptedFixture,
  type Result,
} from './encrypted-fixture.js';

describe.each(['tls', 'https'] as const)(
  'an encrypted server that must not be used, over %s',
  (protocol) => {
    let fixture: EncryptedFixture;

    beforeEach(() => {
      fixture = new EncryptedFixture(protocol);
    });

    afterEach(() => fixture.close());

    it.each([
      ['expired', { names: [ADDRESS], fromDays: -9, toDays: -1 }, 'CERT_HAS_EXPIRED'],
      ['not valid yet', { names: [ADDRESS], fromDays: 1, toDays: 9 }, 'CERT_NOT_YET_VALID'],
      ['for another address', { names: ['127.0.0.2'] }, 'CERT_ALTNAME_INVALID'],
      ['for a name', { names: ['dns.example'] }, 'CERT_ALTNAME_INVALID'],
    ])('has a certificate that is %s', async (_what, certificate, cause) => {
      const server = await fixture.serve(addressOfName, certificate);
      const { sockets, text } = fixture.at(server.port);
      expect(textOf(await ask(sockets, 'n1'))).toMatch(new RegExp(`^certificate ${cause} `));
      expect(server.requests).toEqual([]);
      expect(fixture.failures).toEqual([expect.stringContaining(`${text}: its certificate`)]);
    });

    it('is not the one with the name that is asked for', async () => {
      const server = await fixture.serve();
      expect(await ask(fixture.at(server.port, 'dns.example').sockets, 'n1')).toBe('10.0.0.1');
      const other = fixture.at(server.port, 'other.example');
      expect(textOf(await ask(other.sockets, 'n1'))).toMatch(/^certificate CERT_ALTNAME_INVALID /);
      expect(server.names).toEqual(['n1']);
    });

    it.each([
      ['an authority of its own', { tlsCa: authority.cert }],
      ['the authorities of the system', {}],
    ])('is of an authority that is not trusted, with %s', async (_what, trusted) => {
      await fixture.close();
      fixture = new EncryptedFixture(protocol, trusted);
      const certificate = new TestAuthority('other').issue({ names: [ADDRESS] });
      const server = await fixture.serve(addressOfName, undefined, { certificate });
      const result = await ask(fixture.at(server.port).sockets, 'n1');
      expect(textOf(result)).toMatch(/^certificate (UNKNOWN_CA|SELF_SIGNED_CERT) /);
      expect(server.requests).toEqual([]);
    });

    it('speaks no TLS', async () => {
      const received: Buffer[] = [];
      const plain = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.on('data', (bytes) => {
          received.push(bytes);
          socket.end('no TLS here\n');
        });
      });
      const result = await ask(fixture.at(await listening(plain)).sockets, 'n1');
      expect(textOf(result)).toMatch(/^handshake NO_TLS /);
      // A handshake, and no question.
      expect(received.every((bytes) => bytes[0] === 0x16)).toBe(true);
      plain.close();
    });

    it('is used when it has a good certificate, and its failures are reported once', async () => {
      const server = await fixture.serve(addressOfName, { names: [ADDRESS], toDays: -0.5 });
      const { sockets, encrypted } = fixture.at(server.port);
      for (let i = 0; i < 3; i++) {
        expect(textOf(await ask(sockets, 'n1'))).toMatch(/CERT_HAS_EXPIRED/);
        fixture.wait(10_000);
      }
      expect(fixture.failures).toHaveLength(1);
      expect(encrypted).toMatchObject({ connections: 0, handshakes: 0, certificateEndsAt: 0 });
      server.show(authority.issue({ names: [ADDRESS] }));
      expect(await ask(sockets, 'n1')).toBe('10.0.0.1');
    });

    it('loses none of 1,200 questions through cuts', async () => {
      const server = await fixture.serve();
      const { sockets } = fixture.at(server.port);
      const answers: (Result | undefined)[] = [];
      for (let sent = 0; sent < 1_200; sent += 400) {
        const before = server.requests.length;
        const results = askMany(sockets, 400, sent);
        // Some are answered, some under way, and some wait. A question is cut off once: its retry is answered.
        // While a handshake is cut, too, what waits for it fails.
        await fixture.passUntilTrue(
          () => server.requests.length >= before + 150 && server.handshakes === server.accepted,
        );
        server.cut();
        answers.push(...(await fixture.passUntil(Promise.all(results))));
      }
      expect(answers).toEqual(addressesOf(1_200));
      expect(server.handshakes).toBeGreaterThanOrEqual(3);
    });
  },
);

describe('a server over HTTPS', () => {
  let fixture: EncryptedFixture;

  beforeEach(() => {
    fixture = new EncryptedFixture('https');
  });

  afterEach(() => fixture.close());

  it('gets POST requests with ID 0', async () => {
    const server = await fixture.serve();
    const { sockets } = fixture.at(server.port, 'dns.example');
    expect(await ask(sockets, 'n1')).toBe('10.0.0.1');
    expect(server.httpRequests).toEqual([
      {
        id: 0,
        headers: expect.objectContaining({
          ':method': 'POST',
          ':path': '/dns-query',
          ':authority': `dns.example:${server.port}`,
          'content-type': 'application/dns-message',
          accept: 'application/dns-message',
          'content-length': '128',
        }),
      },
    ]);
  });

  it('fails with a status that is not 200, and with a body that is too long or no message', async () => {
    const server = await fixture.serve();
    const { sockets } = fixture.at(server.port);
    server.status = 503;
    expect(textOf(await ask(sockets, 'n1'))).toMatch(/^closed HTTP_503 /);
    server.status = 200;
    server.script = ({ query }) => [Buffer.concat([query, Buffer.alloc(70_000)])];
    expect(textOf(await ask(sockets, 'n1'))).toMatch(/^closed HTTP_TOO_LONG /);
    server.script = () => [Buffer.from('no')];
    expect(textOf(await ask(sockets, 'n1'))).toMatch(/^closed HTTP_STREAM_0 /);
    server.script = addressOfName;
    expect(await ask(sockets, 'n2')).toBe('10.0.0.2');
    expect(server.accepted).toBe(1);
  });

  it('that goes away answers what it has, and gets further questions on a new connection', async () => {
    const server = await fixture.serve((request) => {
      if (request.question.name === 'n2') server.goAway();
      return addressOfName(request);
    });
    const { sockets } = fixture.at(server.port);
    for (let i = 0; i < 4; i++) expect(await ask(sockets, `n${i}`)).toBe(`10.0.0.${i}`);
    expect(server.accepted).toBe(2);
  });

  it('without HTTP/2 is not asked', async () => {
    const certificate = authority.issue({ names: [ADDRESS] });
    const other = await EncryptedNameServer.start(addressOfName, { certificate });
    fixture.own.push(other);
    expect(textOf(await ask(fixture.at(other.port).sockets, 'n1'))).toMatch(/^handshake /);
    expect(other.requests).toEqual([]);
  });
});

/** The code of a failure and its text; empty for an answer. */
function textOf(result: Result | undefined): string {
  if (result === undefined || typeof result === 'string') return '';
  return `${result.code} ${Buffer.from(result.failure.option.subarray(6)).toString()}`;
}

async function listening(server: Server): Promise<number> {
  server.listen(0, ADDRESS);
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
}
