// Renders deploy/helm/toolgate with the real `helm`, and says what its containers would get from Kubernetes.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { ROOT } from '../support/service.ts';
import { tool } from '../support/tools.ts';

export const CHART = join(ROOT, 'deploy/helm/toolgate');
/** Values files; docs/kubernetes.md shows parts of them. */
export const VALUES = readdirSync(join(CHART, 'ci')).sort();

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes have no type here; kubeconform knows their shapes.
export type Rendered = any;

interface Output {
  code: number;
  printed: string;
  errors: string;
}

export function run(program: string, ...args: string[]): Output {
  const { exitCode, stdout, stderr } = Bun.spawnSync([program, ...args]);
  return { code: exitCode, printed: stdout.toString(), errors: stderr.toString() };
}

export const helm = (...args: string[]): Output => run(tool('helm') as string, ...args);

/** The name of a file in ci/. */
export const renderFile = (name: string): Output =>
  helm('template', 'toolgate', CHART, '--namespace', 'guard', '--values', join(CHART, 'ci', name));

/** Values of a test's own, on top of the chart's defaults. */
export function renderValues(values: object): Output {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-chart-'));
  try {
    writeFileSync(join(folder, 'values.yaml'), stringify(values));
    return helm('template', 'toolgate', CHART, '--values', join(folder, 'values.yaml'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export function objectsOf({ code, printed, errors }: Output): Rendered[] {
  if (code !== 0) throw new Error(errors);
  return parseAllDocuments(printed)
    .map(each => each.toJS())
    .filter(each => each !== null);
}

/** The Deployment or the StatefulSet. */
export const workloadOf = (objects: Rendered[]): Rendered =>
  objects.find(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');

/** Its container's environment, and the server file. `outside` has the secrets that are not the chart's. */
export function environmentOf(
  objects: Rendered[],
  outside: Record<string, Record<string, string>>,
): { env: Record<string, string>; serverFile: string | null } {
  const secrets = { ...outside };
  for (const { kind, metadata, stringData } of objects)
    if (kind === 'Secret') secrets[metadata.name] = stringData;
  const { containers, volumes } = workloadOf(objects).spec.template.spec;
  const env: Record<string, string> = {};
  for (const { name, value, valueFrom } of containers[0].env) {
    const { name: secret, key } = valueFrom?.secretKeyRef ?? {};
    const text = value ?? secrets[secret]?.[key];
    if (text === undefined) throw new Error(`${name} comes from nowhere: ${JSON.stringify(valueFrom)}`);
    env[name] = text;
  }
  const file = volumes.find(({ name }: Rendered) => name === 'server-file')?.secret.secretName;
  return { env, serverFile: secrets[file]?.['toolgate.yaml'] ?? null };
}

/** A definition of an object as JSON schema, which refuses what the definition does not name. */
export function schemaOfDefinition(text: string): object {
  return closed(parse(text).spec.versions[0].schema.openAPIV3Schema);
}

function closed(schema: Rendered): Rendered {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const made = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const isOpen = 'x-kubernetes-preserve-unknown-fields' in made || 'additionalProperties' in made;
  // `metadata` is Kubernetes' own, and not described there.
  const isDescribed = typeof made['properties'] === 'object' && made['type'] === 'object';
  return isDescribed && !isOpen ? { ...made, additionalProperties: false } : made;
}
