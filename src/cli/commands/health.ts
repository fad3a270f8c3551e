// toolgate health: reports by the exit code whether the service runs and is ready. It is for containers, which have no
// curl, and for scripts that wait for a start.

import type { Command } from 'commander';
import type { Health } from '../../core/api/resources.ts';
import { command } from '../help.ts';
import { Http } from '../http.ts';
import type { IO } from '../io.ts';
import { printJson } from '../print.ts';
import { baseUrl, type ServiceOptions, withService } from '../service-options.ts';

export function build(io: IO): Command {
  const what =
    'Ask whether the service can decide: it runs, and its store is reachable.\n\n' +
    'Exit code: 0 ready, 1 not ready, 3 no answer. Needs no key.';
  const made = command('health', what, [
    'toolgate health',
    'until toolgate health --base-url http://127.0.0.1:9000; do sleep 1; done',
  ]);
  return withService(made).action(async (options: ServiceOptions) => {
    const url = baseUrl(io, options);
    const health = await new Http(url, null).get<Health>('/readyz');
    if (options.json) printJson(io, health);
    else io.stdout.write(`ready: Toolgate ${health.version} at ${url}\n`);
  });
}
