import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { connectionReason } from './api-access.js';

describe('connectionReason', () => {
  it('says that a server does not speak TLS', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const [error] = (await once(get(`https://127.0.0.1:${port}`), 'finish').catch(
      (reason: unknown) => [reason],
    )) as [unknown];
    expect(connectionReason(error, 'https://x')).toBe('the server does not speak TLS: use http://');
    server.close();
  });

  it('names the program for credentials that is not there', async () => {
    // With the PATH of this process it is another reason where a folder of it may not be read.
    const plugin = spawn('no-such-plugin', { env: { PATH: '/' } });
    const [error] = (await once(plugin, 'error')) as [unknown];
    expect(connectionReason(error, 'https://x')).toBe(
      'cannot run no-such-plugin, which the kubeconfig names for credentials: no such file or directory',
    );
  });

  it('leaves other errors to others', () => {
    expect(connectionReason(new Error('x'), '')).toBe('x');
    expect(connectionReason(new Error('x'), '', () => 'y')).toBe('y');
  });
});
