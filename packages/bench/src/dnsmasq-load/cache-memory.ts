import { rssBytes } from '@kube-dns/testkit';
import { LoadTestbed, type LoadContext } from './load-testbed.js';
import { namesBelow } from '../queries/question-file.js';

const MIB = 2 ** 20;
const NAMES = 10_000;
const RSS_BAR_MIB = 75;
/** The project's own. */
const NAME_BAR_BYTES = 200;
const OUTSTANDING = 100;
/** Long for asking each name once. */
const FILL_SECONDS = 60;

/** What a full cache takes: of 10,000 names all in all, and for each of many more. */
export async function measureCacheMemory(context: LoadContext): Promise<void> {
  for (let run = 1; run <= context.runs; run++) {
    context.progress(`run ${run} of ${context.runs}: memory of the cache`);
    await measureFull(context);
    await measureEach(context);
  }
}

async function measureFull(context: LoadContext): Promise<void> {
  const { series, seconds } = context;
  const testbed = new LoadTestbed(context);
  const { remote, port } = await testbed.servers.nameServer();
  const subject = await testbed.servers.ourDnsmasq([
    `--cache-size=${NAMES}`,
    `--server=127.0.0.1#${port}`,
  ]);
  const file = testbed.questionFile(namesBelow('example', NAMES));
  const rssMib = () => rssBytes(subject.pid) / MIB;
  const mib = { unit: 'MiB', digits: 1 };
  series.add('RSS without cached names', rssMib(), mib);
  const once = { file, seconds: FILL_SECONDS, passes: 1, outstanding: OUTSTANDING };
  await testbed.dnsperf(subject, once);
  series.add(`RSS with ${NAMES} cached names`, rssMib(), { ...mib, bar: { atMost: RSS_BAR_MIB } });
  const received = await remote.call('received');
  await testbed.dnsperf(subject, { file, seconds });
  series.add('the same, after a load of hits', rssMib(), { ...mib, bar: { atMost: RSS_BAR_MIB } });
  series.add('names that had to be asked for again', (await remote.call('received')) - received, {
    unit: '',
    judged: 'max',
    bar: { atMost: 0 },
  });
  subject.check();
  await testbed.close();
}

async function measureEach(context: LoadContext): Promise<void> {
  const { manyNames } = context;
  const testbed = new LoadTestbed(context);
  const { port } = await testbed.servers.nameServer();
  const subject = await testbed.servers.ourDnsmasq([
    `--cache-size=${NAMES + manyNames}`,
    `--server=127.0.0.1#${port}`,
  ]);
  const fill = (domain: string, count: number) =>
    testbed.dnsperf(subject, {
      file: testbed.questionFile(namesBelow(domain, count)),
      seconds: FILL_SECONDS,
      passes: 1,
      outstanding: OUTSTANDING,
    });
  await fill('few.example', NAMES);
  const before = rssBytes(subject.pid);
  const { completed } = await fill('many.example', manyNames);
  const bytes = (rssBytes(subject.pid) - before) / completed;
  const bar = { atMost: NAME_BAR_BYTES };
  context.series.add('memory of a cached name', bytes, { unit: 'bytes', bar });
  subject.check();
  await testbed.close();
}
