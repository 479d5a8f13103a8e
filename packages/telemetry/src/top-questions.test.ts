import { describe, expect, it } from '@jest/globals';
import { type AddressedClient, SOURCE } from '@kube-dns/transport';
import { encodeQuery, Query, RCODE } from '@kube-dns/wire';
import { Telemetry } from './telemetry.js';
import { TopQuestions } from './top-questions.js';

const query = new Query();

function clientAt(...address: readonly number[]): AddressedClient {
  return {
    address: '',
    port: 1,
    copyAddress: (to, at) => {
      to.set(address, at);
      return address.length;
    },
    answersFrom: () => undefined,
    defer: () => {
      throw new Error('not here');
    },
  };
}

const answerWith = (rcode: number) => Uint8Array.of(0, 1, 0x80, rcode, 0, 0, 0, 0, 0, 0, 0, 0);

/** A program of which some questions are answered at once and some later. */
class Program {
  now = 0;
  readonly top = new TopQuestions({ now: () => this.now });
  readonly telemetry = new Telemetry({ now: () => this.now, top: this.top });

  ask(name: string, client: AddressedClient, rcode: number = RCODE.NOERROR, isLater = false): void {
    const bytes = encodeQuery({ id: 1, name, type: 'A' });
    query.read(bytes, bytes.length, false, 1_232);
    this.telemetry.begin(query, client);
    const message = answerWith(rcode);
    if (isLater) {
      const retained = this.telemetry.retain();
      // Another query is in its place by then.
      bytes.fill(0xff);
      query.name.fill(0);
      retained.answered(message, message.length, SOURCE.UPSTREAM, undefined);
    } else this.telemetry.answered(message, message.length, SOURCE.CACHE);
  }
}

describe('the lists of who asks most', () => {
  it('have clients of both families, names, and names that do not exist, most first', () => {
    const program = new Program();
    const [a, b] = [clientAt(10, 0, 0, 1), clientAt(0xfd, ...Array<number>(14).fill(0), 1)];
    for (let i = 0; i < 5; i++) program.ask('WEB.example', a);
    for (let i = 0; i < 3; i++) program.ask('no.example', b, RCODE.NXDOMAIN, true);
    program.ask('web.example', b, RCODE.NOERROR, true);
    expect(program.top.sections()).toEqual({
      'Top clients': [
        { client: '10.0.0.1', questions: 5, error: 0 },
        { client: 'fd00::1', questions: 4, error: 0 },
      ],
      'Top names': [
        { name: 'web.example', questions: 6, error: 0 },
        { name: 'no.example', questions: 3, error: 0 },
      ],
      'Top NXDOMAIN names': [{ name: 'no.example', questions: 3, error: 0 }],
      'Not in the top lists': { questionsOfTheSidecarSinceTheStart: 0 },
    });
  });

  it('are of the last minute', () => {
    const program = new Program();
    const names = () =>
      (program.top.sections()['Top names'] as { name: string }[]).map(({ name }) => name);
    program.ask('a.example', clientAt(10, 0, 0, 1));
    program.now = 31_000;
    program.ask('b.example', clientAt(10, 0, 0, 1));
    expect(names().sort()).toEqual(['a.example', 'b.example']);
    program.now = 60_001;
    expect(names()).toEqual(['b.example']);
    program.now = 300_000;
    expect(names()).toEqual([]);
  });

  it('do not grow, and name the one who asks most among 10,000 other names', () => {
    const program = new Program();
    for (let i = 0; i < 10_000; i++) {
      program.ask(`n${i}.example`, clientAt(10, 1, i >> 8, i & 255), RCODE.NXDOMAIN);
      if (i % 20 === 0) program.ask('often.example', clientAt(10, 0, 0, 1));
    }
    const sections = program.top.sections();
    const first = (title: string) => (sections[title] as object[])[0];
    expect(sections['Top clients']).toHaveLength(20);
    expect(first('Top clients')).toMatchObject({ client: '10.0.0.1' });
    expect(first('Top names')).toMatchObject({ name: 'often.example' });
    expect(JSON.stringify(sections['Top NXDOMAIN names'])).not.toContain('often');
  });
});
