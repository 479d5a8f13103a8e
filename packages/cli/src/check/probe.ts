import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiReader } from '../api-reader.js';
import { codeOf, refusal } from '../errors.js';
import { asMapping, mappingsOf, textOf, valueAt, type Mapping } from '../manifests/objects.js';
import { askAll, type AskPlan, type AskResult } from './ask-program.js';

export interface ProbeOptions {
  /** Of the pod. */
  readonly namespace: string;
  /** An image with Node 22.3 or newer. */
  readonly image: string;
  /** Ends the wait; the pod is removed. */
  readonly signal: AbortSignal;
  /** Between two looks at the pod; 500 unless given. */
  readonly pollMs?: number;
}

const LABEL = 'app.kubernetes.io/name=kube-dns-check';
const LIMIT_SECONDS = 60;
const POLL_MS = 500;

/**
 * Starts a pod that asks the questions of the plan, waits for its end, and removes it in any case. Throws a refusal when the
 * pod cannot be started or removed, or when it does not end well; rejects with the reason of the signal.
 */
export async function probe(
  api: ApiReader,
  plan: AskPlan,
  options: ProbeOptions,
): Promise<AskResult> {
  const { namespace, signal } = options;
  const name = `kube-dns-check-${randomBytes(4).toString('hex')}`;
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const path = `${pods}/${name}`;
  await removeFinished(api, pods);
  signal.throwIfAborted();
  const created = { isRefused: false };
  try {
    await api.send('POST', pods, podOf(name, plan, options)).catch((error: unknown) => {
      created.isRefused = codeOf((error as Error).cause) === 'denied';
      throw error;
    });
    await finished(api, path, options);
    const { text } = await api.get(`${path}/log`);
    return resultOf(text, name);
  } finally {
    // Any other failure may have made the pod, whatever became of the answer.
    if (!created.isRefused) await remove(api, path, namespace);
  }
}

/** What an earlier command left because it was killed: kubelet has ended it at its deadline. */
async function removeFinished(api: ApiReader, pods: string): Promise<void> {
  const { text } = await api.get(`${pods}?labelSelector=${encodeURIComponent(LABEL)}`);
  for (const pod of mappingsOf(valueAt(JSON.parse(text), 'items'))) {
    if (!['Succeeded', 'Failed'].includes(phaseOf(pod))) continue;
    const name = textOf(valueAt(pod, 'metadata', 'name'));
    await api.send('DELETE', `${pods}/${name}?gracePeriodSeconds=0`);
  }
}

async function remove(api: ApiReader, path: string, namespace: string): Promise<void> {
  try {
    if ((await api.read(path)) === undefined) return;
    await api.send('DELETE', `${path}?gracePeriodSeconds=0`);
  } catch (cause) {
    const name = path.replace(/^.*\//, '');
    throw refusal(
      `the pod of --probe may still be there: kubectl -n ${namespace} delete pod ${name}`,
      { cause },
    );
  }
}

function phaseOf(pod: unknown): string {
  return textOf(valueAt(pod, 'status', 'phase'));
}

async function finished(api: ApiReader, path: string, options: ProbeOptions): Promise<void> {
  const { signal, pollMs = POLL_MS } = options;
  const endMs = performance.now() + LIMIT_SECONDS * 1_000;
  const name = path.replace(/^.*\//, '');
  for (;;) {
    const pod = await api.read(path);
    const phase = phaseOf(pod);
    if (phase === 'Succeeded') return;
    const reason = waitingReason(pod);
    if (pod === undefined || phase === 'Failed' || GIVEN_UP.has(reason)) {
      throw refusal(`the pod ${name} of --probe did not run: ${reason || 'it failed'}`);
    }
    if (performance.now() > endMs) {
      const why = reason === '' ? '' : `: ${reason}`;
      throw refusal(`the pod ${name} of --probe did not end within ${LIMIT_SECONDS} s${why}`);
    }
    await sleep(pollMs, undefined, { signal });
  }
}

/** Kubelet tries again, but nothing changes until a person does something. */
const GIVEN_UP = new Set(['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'CreateContainerError', 'RunContainerError']); // prettier-ignore

function waitingReason(pod: unknown): string {
  const [container] = mappingsOf(valueAt(pod, 'status', 'containerStatuses'));
  const state = asMapping(container?.state);
  const reason = valueAt(state, 'waiting', 'reason') ?? valueAt(state, 'terminated', 'reason');
  return textOf(reason) || textOf(valueAt(pod, 'status', 'reason'));
}

function podOf(name: string, plan: AskPlan, { namespace, image }: ProbeOptions): Mapping {
  const [key = '', label = ''] = LABEL.split('=');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { [key]: label } },
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: LIMIT_SECONDS,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 0,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 65534,
        runAsGroup: 65534,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
      containers: [
        {
          name: 'ask',
          image,
          imagePullPolicy: 'IfNotPresent',
          command: ['node', '-e', programOf(plan)],
          resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '192Mi' } },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    },
  };
}

/** The program of the pod: it writes its result as one line. A `$(` would be a variable for kubelet. */
export function programOf(plan: AskPlan): string {
  const data = Buffer.from(JSON.stringify(plan)).toString('base64');
  const text = `const plan = JSON.parse(Buffer.from(${JSON.stringify(data)}, 'base64').toString());
(${askAll.toString()})(plan).then((result) => process.stdout.write(JSON.stringify(result) + '\\n'));`;
  return text.replaceAll('$(', '$$$$(');
}

function resultOf(log: string, name: string): AskResult {
  const line = log.trim().split('\n').at(-1) ?? '';
  try {
    const result: unknown = JSON.parse(line);
    if (Array.isArray(valueAt(result, 'replies'))) return result as AskResult;
  } catch {
    /* said below */
  }
  throw refusal(`the pod ${name} of --probe did not write its result: ${line.slice(0, 200)}`);
}
