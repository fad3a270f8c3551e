// A real Prometheus that scrapes one service every second, and answers queries.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../support/faults.ts';
import { freePort } from '../support/port.ts';
import { ROOT } from '../support/service.ts';
import { tool } from '../support/tools.ts';

export class Prometheus {
  readonly #url: string;
  readonly #process: Bun.Subprocess;
  readonly #folder: string;

  private constructor(url: string, process: Bun.Subprocess, folder: string) {
    this.#url = url;
    this.#process = process;
    this.#folder = folder;
  }

  /** It is ready once it has scraped the service twice, so that there are rates. */
  static async start(target: string): Promise<Prometheus> {
    const folder = mkdtempSync(join(tmpdir(), 'toolgate-prometheus-'));
    const config = {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [join(ROOT, 'deploy/prometheus/alerts.yaml')],
      scrape_configs: [{ job_name: 'toolgate', static_configs: [{ targets: [target] }] }],
    };
    // JSON is YAML.
    writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
    const address = `127.0.0.1:${await freePort()}`;
    const flags = [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=${address}`,
      '--enable-feature=exemplar-storage',
      '--log.level=error',
    ];
    const process = Bun.spawn([tool('prometheus') as string, ...flags], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const prometheus = new Prometheus(`http://${address}`, process, folder);
    await until('Prometheus has scraped twice', async () => {
      const found = await prometheus.query('count_over_time(toolgate_build_info[1m]) >= 2').catch(() => []);
      return found.length > 0;
    });
    return prometheus;
  }

  /** The series that an expression gives now. An expression that is wrong throws. */
  async query(expression: string): Promise<{ metric: Record<string, string>; value: [number, string] }[]> {
    return (await this.#ask('query', { query: expression })).result;
  }

  async exemplars(expression: string): Promise<{ exemplars: { labels: Record<string, string> }[] }[]> {
    const now = Date.now() / 1000;
    return this.#ask('query_exemplars', {
      query: expression,
      start: String(now - 600),
      end: String(now + 60),
    });
  }

  /** What Prometheus says about its targets. */
  async faults(): Promise<string[]> {
    const { activeTargets } = await this.#ask('targets', {});
    return activeTargets.flatMap(({ lastError }: { lastError: string }) =>
      lastError === '' ? [] : [lastError],
    );
  }

  // biome-ignore lint/suspicious/noExplicitAny: each question has an answer of its own shape
  async #ask(what: string, parameters: Record<string, string>): Promise<any> {
    const response = await fetch(`${this.#url}/api/v1/${what}?${new URLSearchParams(parameters)}`);
    const answer = (await response.json()) as { status: string; error?: string; data: unknown };
    if (answer.status !== 'success') throw new Error(`${parameters['query']}: ${answer.error}`);
    return answer.data;
  }

  async close(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#process.exited;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
