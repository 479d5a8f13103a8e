import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MANIFESTS } from '@kube-dns/testkit/manifests';
import { parse } from 'yaml';

/** The folder of the component monitoring. */
export const MONITORING = join(MANIFESTS, 'components', 'monitoring');

interface Rules {
  readonly spec: {
    readonly groups: readonly {
      readonly rules: readonly {
        readonly alert: string;
        readonly expr: string;
        readonly labels: Readonly<Record<string, string>>;
        readonly annotations: Readonly<Record<string, string>>;
      }[];
    }[];
  };
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly type: string;
    readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
  readonly templating: {
    readonly list: readonly { readonly query: string; readonly type: string }[];
  };
}

/** The alerts of the component. */
export const ALERTS = (
  parse(readFileSync(join(MONITORING, 'alerts.yaml'), 'utf8')) as Rules
).spec.groups.flatMap(({ rules }) => rules);
/** Its dashboard. */
export const DASHBOARD = JSON.parse(
  readFileSync(join(MONITORING, 'dashboard.json'), 'utf8'),
) as Dashboard;
const graphs = DASHBOARD.panels.filter(({ type }) => type !== 'row');
/** The queries of the dashboard, each with the title of its panel. */
export const QUERIES = graphs.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat }) => ({ title, expr, legendFormat })),
);
