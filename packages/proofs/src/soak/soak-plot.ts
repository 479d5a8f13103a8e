import { CONTAINER_NAMES } from '../fixtures/manifest-pod.js';
import type { Sample } from './sample.js';
import { plotSvg, type Panel } from './svg-plot.js';

const MIB = 2 ** 20;

/** RSS of each container, questions a second and p99 over the time of a run, as SVG. */
export function soakPlot(samples: readonly Sample[], title: string): string {
  const points = (value: (sample: Sample) => number) =>
    samples.map((sample) => [sample.atSeconds / 60, value(sample)] as const);
  const panels: Panel[] = [
    {
      title: 'RSS, MiB',
      lines: CONTAINER_NAMES.map((name) => ({
        name,
        points: points(({ containers }) => containers[name].rssBytes / MIB),
      })),
    },
    {
      title: 'questions a second',
      lines: [
        { name: 'asked', points: points(({ answers, seconds }) => answers.asked / seconds) },
        { name: 'right', points: points(({ answers, seconds }) => answers.right / seconds) },
      ],
    },
    {
      title: 'time to the answer, ms',
      lines: [
        { name: 'p50', points: points(({ answers }) => answers.p50Ms) },
        { name: 'p99', points: points(({ answers }) => answers.p99Ms) },
        { name: 'p99 of own delay', points: points(({ answers }) => answers.ownLateP99Ms) },
      ],
    },
  ];
  return plotSvg(panels, { title, axis: 'minutes' });
}
