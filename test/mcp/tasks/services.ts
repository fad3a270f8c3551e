// What the proxy needs for tasks, for tests that make its parts themselves.

import type { Deps } from '../../../src/guard/deps.ts';
import { RateLimit } from '../../../src/guard/rate-limit.ts';
import { HeldCalls } from '../../../src/guard/tasks/held-calls.ts';
import { Liveness } from '../../../src/guard/tasks/liveness.ts';
import type { TaskServices } from '../../../src/mcp/services.ts';
import { TaskSubscriptions } from '../../../src/mcp/tasks/subscriptions.ts';
import { TaskRuns } from '../../../src/mcp/tasks/task-runs.ts';
import { TaskWatch } from '../../../src/mcp/tasks/task-watch.ts';

export function taskServicesOf(deps: Deps): TaskServices {
  return {
    deps,
    calls: new HeldCalls(deps, 1 << 20, () => {}),
    runs: new TaskRuns(() => {}),
    liveness: new Liveness(deps, { shared: false, failed: () => {}, gaveUp: () => {} }),
    subscriptions: new TaskSubscriptions(new TaskWatch(deps, () => {})),
    requests: new RateLimit(600, null),
    earlierCall: async () => null,
    areOnFor: async () => true,
  };
}
