// The chart of deploy/helm/toolgate: what it makes is valid for a current Kubernetes, means the same to the program, and
// keeps to what docs/kubernetes.md says about safety. Values that cannot work are refused.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import pkg from '../../package.json' with { type: 'json' };
import { routes } from '../../src/http/routes.ts';
import { loadConfig } from '../../src/settings/config.ts';
import { SETTINGS } from '../../src/settings/settings.ts';
import { ROOT } from '../support/service.ts';
import { hasTool, tool, toolFolder } from '../support/tools.ts';
import {
  CHART,
  environmentOf,
  helm,
  objectsOf,
  type Rendered,
  renderFile,
  renderValues,
  run,
  schemaOfDefinition,
  VALUES,
  workloadOf,
} from './chart.ts';

const RESTORING = join(ROOT, 'deploy/helm/restore.yaml');
const read = (name: string) => readFileSync(join(CHART, name), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'toolgate-helm-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Secrets that values name and that somebody else makes. */
const OUTSIDE = {
  'toolgate-database': { 'database-url': 'postgres://toolgate:secret@db.example.com:5432/toolgate' },
  'toolgate-secrets': {
    'master-key': Buffer.alloc(32, 7).toString('base64'),
    'admin-token': 'an admin token of 32 characters!',
  },
  mail: { url: 'smtp://mail.example.com' },
};

test('the version of the program is that of package.json', () => {
  expect(parse(read('Chart.yaml')).appVersion).toBe(pkg.version);
});

test('the schema knows every value, and no other', () => {
  const known = (schema: Rendered, values: Rendered): void => {
    if (schema.properties === undefined) return;
    expect(schema.additionalProperties).toBe(false);
    const names = Object.keys(schema.properties).filter(name => name !== 'global' && name !== 'claims');
    expect(names.sort()).toEqual(Object.keys(values).sort());
    for (const name of names) known(schema.properties[name], values[name]);
  };
  known(JSON.parse(read('values.schema.json')), parse(read('values.yaml')));
});

test('docs/kubernetes.md shows values that are rendered here', () => {
  const shown = readFileSync(join(ROOT, 'docs/kubernetes.md'), 'utf8').matchAll(
    /<!-- from: deploy\/helm\/toolgate\/ci\/(.*?) -->/g,
  );
  const names = [...shown].map(each => each[1] as string);
  expect(names.length).toBeGreaterThanOrEqual(2);
  for (const name of names) expect(VALUES).toContain(name);
});

describe.if(hasTool('helm'))('the chart', () => {
  const rendered = new Map<string, Rendered[]>();
  beforeAll(() => {
    for (const name of VALUES) {
      const output = renderFile(name);
      rendered.set(name, objectsOf(output));
      writeFileSync(join(folder, name), output.printed);
    }
  });
  const kindsOf = (name: string) =>
    (rendered.get(name) ?? []).map(({ kind }) => kind).filter(kind => kind !== 'Pod');

  test.each(VALUES)('has nothing that lint complains about, with %s', name => {
    expect(helm('lint', '--strict', CHART, '--values', join(CHART, 'ci', name))).toMatchObject({ code: 0 });
  });

  test('makes what was asked for', () => {
    expect(kindsOf('sqlite.yaml').sort()).toEqual(['Service', 'ServiceAccount', 'StatefulSet']);
    expect(kindsOf('postgres.yaml').sort()).toEqual([
      'Deployment',
      'Ingress',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
    ]);
    const all = readdirSync(join(CHART, 'templates')).filter(name => name.endsWith('.yaml')).length;
    // Two secrets in one file, and no StatefulSet on PostgreSQL.
    expect(kindsOf('everything.yaml')).toHaveLength(all);
  });

  const schemas = toolFolder('kubernetes-schemas');
  const definitions = toolFolder('operator-schemas');
  const isEquipped = hasTool('kubeconform') && schemas !== null && definitions !== null;
  test.skipIf(!isEquipped)(
    'is valid for Kubernetes and for the Prometheus operator',
    () => {
      const operator = join(folder, 'operator');
      mkdirSync(operator);
      for (const name of readdirSync(definitions as string)) {
        const kind = /_(\w+)s\.yaml$/.exec(name)?.[1];
        if (kind !== 'servicemonitor' && kind !== 'prometheusrule') continue;
        const schema = schemaOfDefinition(readFileSync(join(definitions as string, name), 'utf8'));
        writeFileSync(join(operator, `${kind}-monitoring-v1.json`), JSON.stringify(schema));
      }
      const at = (place: string) => [
        '-schema-location',
        join(place, '{{.ResourceKind}}{{.KindSuffix}}.json'),
      ];
      const text = readFileSync(join(folder, 'everything.yaml'), 'utf8');
      const broken = text.replace('enableServiceLinks:', 'serviceLinks:').replace('interval:', 'every:');
      writeFileSync(join(folder, 'broken.yaml'), broken);
      const files = [...[...VALUES, 'broken.yaml'].map(name => join(folder, name)), RESTORING];
      // In one call, because reading the schemas is what takes its time.
      const { printed } = run(
        tool('kubeconform') as string,
        ...['-strict', '-summary', ...at(schemas as string), ...at(operator), ...files],
      );
      const lines = printed.trim().split('\n').sort();
      expect(lines).toEqual([
        expect.stringMatching(/broken.yaml - Deployment toolgate is invalid: .*'serviceLinks' not allowed/),
        expect.stringMatching(/broken.yaml - ServiceMonitor toolgate is invalid: .*'every' not allowed/),
        expect.stringMatching(/^Summary: .* Invalid: 2, Errors: 0, Skipped: 0$/),
      ]);
    },
    60_000,
  );

  test.each(VALUES)('gives the program settings that it accepts, with %s', name => {
    const { env, serverFile } = environmentOf(rendered.get(name) as Rendered[], OUTSIDE);
    expect('TOOLGATE_CONFIG' in env).toBe(serverFile !== null);
    if (serverFile !== null) {
      expect(env['TOOLGATE_CONFIG']).toBe('/etc/toolgate/toolgate.yaml');
      env['TOOLGATE_CONFIG'] = join(folder, `${name}-server-file`);
      writeFileSync(env['TOOLGATE_CONFIG'], serverFile);
    }
    const { config } = loadConfig(env, folder);
    expect(config.unknown).toEqual([]);
    expect([config.host, config.port, config.dataDir]).toEqual(['0.0.0.0', 8787, '/data/toolgate']);
    const onPostgres = config.databaseUrl !== null;
    expect(onPostgres).toBe(name !== 'sqlite.yaml');
    expect([config.masterKey !== null, config.adminToken !== null]).toEqual([onPostgres, onPostgres]);
    expect(config.publicUrl).toMatch(/^https?:\/\/toolgate\.example\.com$/);
    if (serverFile === null) return;
    expect(Object.keys(config.channels)).toEqual(['finance-mail', 'on-call']);
    expect(Object.keys(config.shipping)).toEqual(['siem']);
  });

  test.each(VALUES)('asks and serves at addresses that the program has, with %s', name => {
    const objects = rendered.get(name) as Rendered[];
    const { env } = environmentOf(objects, OUTSIDE);
    const [container] = workloadOf(objects).spec.template.spec.containers;
    const ports = Object.fromEntries(
      container.ports.map((each: Rendered) => [each.name, String(each.containerPort)]),
    );
    expect([ports.http, ports.grpc]).toEqual([env['TOOLGATE_PORT'], env['TOOLGATE_GRPC_PORT']]);
    const monitors = objects.filter(({ kind }) => kind === 'ServiceMonitor');
    const asked = [
      ...[container.startupProbe, container.livenessProbe, container.readinessProbe].map(
        probe => probe.httpGet,
      ),
      ...monitors.flatMap(({ spec }) => spec.endpoints),
    ];
    const paths = routes
      .filter(({ method, access }) => method === 'GET' && access === 'public')
      .map(each => each.path);
    for (const { path, port } of asked) {
      expect(paths).toContain(path);
      expect(port).toBe('http');
    }
    expect([container.livenessProbe.httpGet.path, container.readinessProbe.httpGet.path]).toEqual([
      '/healthz',
      '/readyz',
    ]);
    const service = objects.find(({ kind }) => kind === 'Service');
    expect(service.spec.ports.map((each: Rendered) => each.targetPort)).toEqual(Object.keys(ports));
    const labels = workloadOf(objects).spec.template.metadata.labels;
    expect(labels).toMatchObject(service.spec.selector);
    for (const { metadata } of objects.filter(({ kind }) => kind === 'Pod'))
      expect(metadata.labels).not.toMatchObject(service.spec.selector);
  });

  test.each(VALUES)('runs pods that may do nothing but their work, with %s', name => {
    const objects = rendered.get(name) as Rendered[];
    const pods = objects.flatMap(({ kind, spec }) => (kind === 'Pod' ? spec : (spec?.template?.spec ?? [])));
    expect(pods).toHaveLength(2);
    for (const pod of pods) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 8787,
          runAsGroup: 8787,
          seccompProfile: { type: 'RuntimeDefault' },
        },
      });
      for (const { securityContext } of pod.containers)
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
    const { terminationGracePeriodSeconds: grace, containers } = workloadOf(objects).spec.template.spec;
    const { env } = environmentOf(objects, OUTSIDE);
    const stopSeconds = SETTINGS.stopGrace.read(env['TOOLGATE_STOP_GRACE'] as string) / 1000;
    expect(grace - containers[0].lifecycle.preStop.sleep.seconds - stopSeconds).toBe(15);
  });

  test('finds its store where the pod for a restore looks for it', () => {
    const pod = parse(readFileSync(RESTORING, 'utf8')).spec;
    const { spec } = workloadOf(rendered.get('sqlite.yaml') as Rendered[]);
    const [here, there] = [pod.containers[0], spec.template.spec.containers[0]];
    expect(pod.securityContext).toEqual(spec.template.spec.securityContext);
    expect(here.securityContext).toEqual(there.securityContext);
    expect([here.image, here.volumeMounts]).toEqual([there.image, there.volumeMounts]);
    expect(there.env).toContainEqual(here.env[0]);
    const claim = `${spec.volumeClaimTemplates[0].metadata.name}-toolgate-0`;
    expect(pod.volumes[0]).toEqual({ name: 'data', persistentVolumeClaim: { claimName: claim } });
  });

  test('brings the alerts and the dashboard as they are', () => {
    const ofKind = (wanted: string) => rendered.get('everything.yaml')?.find(({ kind }) => kind === wanted);
    const deployed = (name: string) => parse(readFileSync(join(ROOT, 'deploy', name), 'utf8'));
    expect(ofKind('PrometheusRule').spec).toEqual(deployed('prometheus/alerts.yaml'));
    const { data } = ofKind('ConfigMap');
    expect(JSON.parse(data['toolgate.json'])).toEqual(deployed('grafana/toolgate.json'));
  });

  test('lets in its own test and only those whom a network policy names', () => {
    const base = { image: { repository: 'r' } };
    const policyOf = (ingress: object) => {
      const objects = objectsOf(renderValues({ ...base, networkPolicy: { enabled: true, ingress } }));
      const ofKind = (wanted: string) => objects.find(({ kind }) => kind === wanted);
      return { ...ofKind('NetworkPolicy').spec, test: ofKind('Pod').metadata.labels };
    };
    const { ingress, policyTypes, test } = policyOf({});
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    const [own] = ingress[0].from;
    expect([ingress.length, ingress[0].from]).toEqual([1, [{ podSelector: own.podSelector }]]);
    expect(test).toMatchObject(own.podSelector.matchLabels);
    expect(Object.keys(own.podSelector.matchLabels)).toHaveLength(2);
    const [rule, ...more] = policyOf({ namespaces: ['agents'] }).ingress;
    expect(more).toEqual([]);
    const values = { key: 'kubernetes.io/metadata.name', operator: 'In', values: ['agents'] };
    expect(rule.from).toEqual([own, { namespaceSelector: { matchExpressions: [values] } }]);
  });

  test('refuses secrets among the settings, where whoever looks at pods could read them', () => {
    const { properties } = JSON.parse(read('values.schema.json'));
    const refused: string[] = properties.settings.propertyNames.not.enum;
    const secrets = Object.values(SETTINGS).flatMap(({ env, secret }) => (secret ? env : []));
    expect(secrets.filter(each => !refused.includes(each))).toEqual([]);
    const { code, errors } = renderValues({
      image: { repository: 'r' },
      settings: { TOOLGATE_SLACK_BOT_TOKEN: 'x' },
    });
    expect([code, errors]).toEqual([1, expect.stringContaining('settings')]);
  });

  test('replaces pods when a secret of the chart changes', () => {
    const annotation = (url: string) => {
      const content = { channels: { one: { type: 'http', url } } };
      const objects = objectsOf(renderValues({ image: { repository: 'r' }, serverFile: { content } }));
      return workloadOf(objects).spec.template.metadata.annotations['checksum/secrets'];
    };
    expect(annotation('https://a.example')).not.toBe(annotation('https://b.example'));
  });

  const image = { repository: 'registry.example.com/toolgate' };
  const postgres = { existingSecret: 'database' };
  const secrets = { existingSecret: 'secrets' };
  test.each<[string, object, string]>([
    ['no image', {}, 'image.repository is missing'],
    ['replicas on the embedded store', { image, replicaCount: 2 }, 'More than one replica needs PostgreSQL'],
    [
      'autoscaling on it',
      { image, autoscaling: { enabled: true } },
      'More than one replica needs PostgreSQL',
    ],
    ['PostgreSQL without secrets', { image, postgres }, 'replicas share the master key and the admin token'],
    [
      'half of the secrets',
      { image, secrets: { adminToken: 'x'.repeat(32) } },
      'secrets.masterKey and secrets.adminToken go together',
    ],
    [
      'secrets twice',
      { image, secrets: { existingSecret: 's', masterKey: OUTSIDE['toolgate-secrets']['master-key'] } },
      'choose one',
    ],
    ['two databases', { image, secrets, postgres: { ...postgres, url: 'postgres://x' } }, 'choose one'],
    ['two server files', { image, serverFile: { content: { a: 1 }, existingSecret: 's' } }, 'choose one'],
    ['an ingress without a name', { image, ingress: { enabled: true } }, 'ingress.host is empty'],
    [
      'limits the wrong way round',
      { image, postgres, secrets, autoscaling: { enabled: true, minReplicas: 9 } },
      'minReplicas is larger',
    ],
    ['a misspelt value', { image, replicas: 2 }, 'Additional property replicas is not allowed'],
    ['a misspelt part', { image, postgres: { secret: 's' } }, 'Additional property secret is not allowed'],
    ['a number as text', { image, replicaCount: '3' }, 'replicaCount: Invalid type'],
    [
      'an embedded store as address',
      { image, postgres: { url: 'sqlite:x' } },
      'postgres.url: Does not match',
    ],
    [
      'a short master key',
      { image, secrets: { masterKey: 'c2hvcnQ=' } },
      'secrets.masterKey: Does not match',
    ],
    ['a setting with a value of its own', { image, settings: { TOOLGATE_MASTER_KEY: 'x' } }, 'settings'],
    ['a number as setting', { image, settings: { TOOLGATE_BODY_LIMIT: 10_000_000 } }, 'settings'],
    ['a port for two', { image, grpc: { enabled: true, port: 8787 } }, 'grpc.port is the port of HTTP, too'],
    [
      'a label by which pods are selected',
      { image, podLabels: { 'app.kubernetes.io/name': 'x' } },
      'podLabels',
    ],
    ['a budget of none', { image, podDisruptionBudget: { maxUnavailable: 0 } }, 'podDisruptionBudget'],
  ])('refuses %s', (_, values, why) => {
    const { code, errors } = renderValues(values);
    expect(errors).toContain(why);
    expect(code).toBe(1);
  });
});
