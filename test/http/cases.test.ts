// The shared decision cases through POST /v1/check, on both engines; the rule's index as the audit log
// tells it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Callers, caseTitle, liveCaseFiles } from '../support/cases.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine });
    });
    afterAll(() => service.close());

    for (const file of liveCaseFiles()) {
      test(file.file, async () => {
        const callers = new Callers(service, file);
        for (const call of file.calls) {
          const { decision, reason, ruleIndex } = call.want;
          const more = call.args === undefined ? {} : { args: call.args };
          const { token } = await callers.for(call);
          const { status, body } = await service.check(token, call.server, call.tool, more);
          const what = caseTitle(call);
          expect([what, status, body.decision]).toEqual([what, 200, decision]);
          if (reason !== undefined) expect(body.reason).toBe(reason);
          const [entry] = (await service.admin('GET', '/audit?limit=1')).body.entries;
          expect([what, entry.id]).toEqual([what, body.toolCallId]);
          if (ruleIndex !== undefined) expect([what, entry.ruleIndex]).toEqual([what, ruleIndex]);
          expect(entry).toMatchObject({
            serverName: call.server,
            toolName: call.tool,
            decision,
            reason: body.reason,
            policyId: body.policyId,
            referenceId: body.referenceId ?? null,
          });
        }
      });
    }
  });
}
