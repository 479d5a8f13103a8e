import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ChangeFeed, Notifier, NotifyMessages, NotifyTarget } from '@kube-dns/push';
import { type NameServerRequest, ScriptedNameServer, until } from '@kube-dns/testkit';
import {
  decodeMessage,
  encodeKey,
  encodeRdata,
  OPCODE_MASK,
  OPCODE_NOTIFY,
  parseTsigKey,
  readTsig,
  readUint16,
  signMessage,
  skipName,
  type TsigKey,
  writeUint16,
} from '@kube-dns/wire';

const KEY = parseTsigKey('key "k" { algorithm hmac-sha256; secret "AAECAwQFBgcICQoLDA0ODw=="; };');
const ZONES = ['cluster.local', 'in-addr.arpa', 'ip6.arpa'];
const zone = {
  apex: encodeKey('cluster.local'),
  soaRdata: encodeRdata({
    type: 'SOA',
    name: '.',
    data: {
      mname: 'ns.dns.cluster.local',
      rname: 'hostmaster.cluster.local',
      serial: 1_700_000_000,
      refresh: 1,
      retry: 2,
      expire: 3,
      minimum: 4,
    },
  }),
};
const serviceName = (name: string) => `${name}.default.svc.cluster.local`;

let server: ScriptedNameServer;
let target: NotifyTarget;
let log: string[];

beforeEach(async () => {
  log = [];
  server = await ScriptedNameServer.start(acknowledge);
  create();
});
afterEach(async () => {
  target.close();
  await server.close();
});

function create(key?: TsigKey): void {
  const messages = new NotifyMessages(zone, 30, key);
  target = new NotifyTarget({
    server: { address: server.address, port: server.port },
    messages,
    log: { warn: (text) => log.push(text) },
  });
}

/** The response with an rcode: the message with QR, and its question alone. */
function responseTo(query: Buffer, rcode = 0): Buffer {
  const response = Buffer.from(query.subarray(0, skipName(query, 12, query.length) + 4));
  writeUint16(response, 2, 0x8000 | readUint16(query, 2) | rcode);
  writeUint16(response, 6, 0);
  writeUint16(response, 10, 0);
  return response;
}

function acknowledge({ query }: NameServerRequest): Buffer[] {
  return [responseTo(query)];
}

/** Each message once, however often it was sent: a reply that is late on a busy machine is no other message. */
function asked(): readonly { readonly id: number; readonly name: string }[] {
  const byId = new Map(
    server.requests.map(({ query, question }) => [readUint16(query, 0), question.name]),
  );
  return Array.from(byId, ([id, name]) => ({ id, name }));
}
const namesAsked = () => asked().map(({ name }) => name);
const notify = (...names: string[]) => {
  for (const name of names) target.notify(encodeKey(name));
};

describe('a target of --notify', () => {
  it('gets one message with the name, the SOA and its serial, until it has replied', async () => {
    notify(serviceName('web'));
    await until(() => target.results.acknowledged === 1);
    const { query, protocol } = server.requests[0]!;
    expect(protocol).toBe('udp');
    expect(readUint16(query, 2) & OPCODE_MASK).toBe(OPCODE_NOTIFY);
    expect(decodeMessage(query)).toMatchObject({
      questions: [{ name: serviceName('web'), type: 'SOA', class: 'IN' }],
      answers: [{ name: 'cluster.local', type: 'SOA', data: { serial: 1_700_000_000 } }],
    });
    expect(asked()).toHaveLength(1);
    expect(target.results).toEqual({ acknowledged: 1, refused: 0, given_up: 0 });
  });

  it('takes the right reply alone: that ID, that question, a NOTIFY, a response', async () => {
    server.script = ({ query }) => {
      const [otherId, otherQuestion, noNotify] = [1, 2, 3].map(() => responseTo(query));
      writeUint16(otherId!, 0, readUint16(query, 0) ^ 1);
      otherQuestion![13]! ^= 1;
      writeUint16(noNotify!, 2, 0x8000);
      return [otherId!, otherQuestion!, noNotify!, query, responseTo(query, 5)];
    };
    notify(serviceName('web'));
    await until(() => target.results.refused === 1);
    expect(target.results).toEqual({ acknowledged: 0, refused: 1, given_up: 0 });
  });

  it('that refuses is counted, and not asked again', async () => {
    server.script = ({ query }) => [responseTo(query, 5)];
    notify(serviceName('web'));
    await until(() => target.results.refused === 1);
    expect(asked()).toHaveLength(1);
  });

  it('that knows zones only gets the zone after a name', async () => {
    server.script = ({ query, question }) => [
      responseTo(query, ZONES.includes(question.name) ? 0 : 9),
    ];
    notify(serviceName('web'), '1.0.0.10.in-addr.arpa');
    await until(() => target.results.acknowledged === 2);
    expect(namesAsked().slice(2).sort()).toEqual(['cluster.local', 'in-addr.arpa']);
    expect(target.results.refused).toBe(2);
  });
});

describe('a target with a key', () => {
  it('gets signed messages, and its signed reply counts', async () => {
    server.script = ({ query }) => {
      const tsig = readTsig(query);
      if (typeof tsig === 'string') return null;
      const out = Buffer.alloc(1_000);
      const length = responseTo(query).copy(out);
      const timeSeconds = Math.floor(Date.now() / 1_000);
      return [
        out.subarray(0, signMessage(out, length, KEY, { timeSeconds, requestMac: tsig.mac })),
      ];
    };
    create(KEY);
    notify(serviceName('web'));
    await until(() => target.results.acknowledged === 1);
    expect(asked()).toHaveLength(1);
  });

  it('whose replies are not signed is asked again', async () => {
    server.script = ({ query }) => [responseTo(query, 5)];
    create(KEY);
    notify(serviceName('web'));
    await until(() => target.sent >= 2);
    expect(target.results).toEqual({ acknowledged: 0, refused: 0, given_up: 0 });
  });

  it('knows what was wrong with a reply', () => {
    const sent = new NotifyMessages(zone, 30, KEY).write(encodeKey('cluster.local'));
    const reply = responseTo(Buffer.from(sent.message), 5);
    expect(sent.isReply(reply)).toBe(false);
    expect(sent.badReplyReason).toBe('a reply with rcode 5 is not signed');
    const out = Buffer.alloc(1_000);
    const length = reply.copy(out);
    const other = { ...KEY, secret: Buffer.from('another') };
    const signed = signMessage(out, length, other, { timeSeconds: Date.now() / 1_000 });
    expect(sent.isReply(out.subarray(0, signed))).toBe(false);
    expect(sent.badReplyReason).toBe(
      'a reply with rcode 5 and TSIG error 0 is not signed by the key',
    );
  });
});

describe('the notifier', () => {
  it('tells the zones when it starts and when all may have changed, and then each name', async () => {
    const feed = new ChangeFeed(['configuration']);
    const messages = new NotifyMessages(zone, 30, undefined);
    const servers = [{ address: server.address, port: server.port }];
    const notifier = new Notifier({ servers, feed, messages, log: { warn: () => undefined } });
    feed.add(encodeKey(serviceName('before')));
    notifier.start();
    await until(() => notifier.targets[0]!.results.acknowledged === 3);
    expect(namesAsked().sort()).toEqual(ZONES);
    feed.add(encodeKey(serviceName('web')));
    await until(() => namesAsked().includes(serviceName('web')));
    feed.flush('configuration');
    await until(() => asked().length === 7);
    notifier.close();
    expect(feed.isObserved).toBe(false);
    expect(namesAsked().slice(4).sort()).toEqual(ZONES);
    feed.close();
  });
});
