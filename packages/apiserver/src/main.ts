import { CodedError, errorText, UsageError } from '@kube-dns/base';
import { createApiServer } from './api-server.js';
import { ManifestFollower } from './manifests.js';
import { parseProgramOptions, usage, type ProgramOptions } from './program-options.js';

function printError(message: string): void {
  process.stderr.write(`apiserver: ${message.replaceAll(/\s*\n\s*/g, ' ')}\n`);
}

async function serve(options: Extract<ProgramOptions, { action: 'serve' }>): Promise<void> {
  const follower = new ManifestFollower({ paths: options.manifests, onError: printError });
  await follower.load();
  const { host, port, serviceRange, serviceRangeV6 } = options;
  const server = await createApiServer({
    host,
    port,
    ...(serviceRange !== undefined && { serviceRange }),
    ...(serviceRangeV6 !== undefined && { serviceRangeV6 }),
    seed: (objects) => follower.seed(objects),
  });
  const stop = () => {
    void Promise.all([follower.close(), server.close()]).then(() => process.exit(0));
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  process.stdout.write(`apiserver: serving ${server.objects.count} objects on ${server.url}\n`);
  if (options.manifests.length > 0) await follower.follow(server.objects);
}

async function main(): Promise<void> {
  const options = parseProgramOptions(process.argv.slice(2));
  if (options.action === 'help') process.stdout.write(usage());
  else if (options.action === 'version') {
    process.stdout.write(`apiserver ${process.env.KUBE_DNS_VERSION ?? 'development'}\n`);
  } else await serve(options);
}

// The server continues when its output is no longer read.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

main().catch((error: unknown) => {
  printError(errorText(error));
  // Any other error is a defect, so its stack is printed.
  if (!(error instanceof CodedError) && error instanceof Error) {
    process.stderr.write(`${error.stack ?? ''}\n`);
  }
  process.exit(error instanceof UsageError ? 2 : 1);
});
