// What docs/metrics.md says about each metric, and which metrics and labels an expression of PromQL names.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/service.ts';

export interface Documented {
  name: string;
  type: string;
  labels: string[];
}

const ROW = /^\| `((?:toolgate|process)_\w+)` \| (\w+) \|([^|]*)\| [^|]+ \|$/gm;

/** The metrics of the page's tables. */
export function documentedMetrics(): Documented[] {
  const page = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8');
  return Array.from(page.matchAll(ROW), ([, name = '', type = '', labels = '']) => ({
    name,
    type,
    labels: Array.from(labels.matchAll(/`(\w+)`/g), ([, label = '']) => label),
  }));
}

/** Labels that Prometheus adds, and the one of several workers. */
const ADDED = ['job', 'instance', 'worker'];

/** What an expression names that no table has: a metric, or a label that the metrics in it do not have. */
export function unknownIn(expression: string, metrics: readonly Documented[]): string[] {
  const code = expression.replace(/"[^"]*"/g, '""');
  const names = code.match(/\b(?:toolgate|process)_\w+/g) ?? [];
  const found = names.map(name => metrics.find(each => seriesOf(each).includes(name)));
  const known = new Set([...ADDED, 'le', ...found.flatMap(each => each?.labels ?? [])]);
  const unnamed = names.filter((_, index) => found[index] === undefined);
  return [...unnamed, ...labelsIn(code).filter(label => !known.has(label))];
}

function seriesOf({ name, type }: Documented): string[] {
  return type === 'histogram' ? ['bucket', 'sum', 'count'].map(part => `${name}_${part}`) : [name];
}

function labelsIn(code: string): string[] {
  const chosen = Array.from(code.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*""/g), ([, label = '']) => label);
  const grouped = Array.from(code.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g), ([, labels = '']) =>
    labels.split(',').map(label => label.trim()),
  );
  return [...chosen, ...grouped.flat()];
}

export interface Rule {
  alert: string;
  expr: string;
  annotations: Record<string, string>;
}

export function alertRules(): Rule[] {
  const file = readFileSync(join(ROOT, 'deploy/prometheus/alerts.yaml'), 'utf8');
  const { groups } = Bun.YAML.parse(file) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(group => group.rules);
}

interface Panel {
  title: string;
  targets?: { expr: string; legendFormat: string }[];
}

/** The expressions of the dashboard, with the panels that they are in. */
export function dashboardQueries(): { panel: string; expr: string; legend: string }[] {
  const file = readFileSync(join(ROOT, 'deploy/grafana/toolgate.json'), 'utf8');
  const { panels } = JSON.parse(file) as { panels: Panel[] };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({ panel: title, expr, legend: legendFormat })),
  );
}
