import { type Methods, serveRemote } from './remote.js';

// The process of a Remote: serves one object of the class that its argument names, `MODULE#CLASS`.
type Served = Methods<Record<string, unknown>>;

async function create(entry: URL): Promise<Served> {
  const name = entry.hash.slice(1);
  entry.hash = '';
  const module = (await import(entry.href)) as Readonly<
    Record<string, (new () => Served) | undefined>
  >;
  const Served = module[name];
  if (Served === undefined) throw new Error(`${entry.href} exports no ${name}`);
  return new Served();
}

serveRemote(create(new URL(process.argv[2] ?? '')));
