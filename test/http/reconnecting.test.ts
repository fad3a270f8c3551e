// Clients that open a connection for each request, and ask again as soon as they are answered: the requests on other
// connections have their turns too.

import { expect, test } from 'bun:test';
import { startGreedy } from '../support/greedy.ts';
import { ADMIN_TOKEN, startService } from '../support/service.ts';

const CLIENTS = 50;
const ANSWERS = 3000;
/** It was thousands. In each turn of the event loop a bounded number is begun, and a request takes a few turns. */
const MOST_BETWEEN = 20 * CLIENTS;

test('fifty of them do not keep others waiting', async () => {
  const service = await startService();
  const greedy = await startGreedy();
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const answered = async () => {
    const { text } = await service.json('GET', '/metrics', ADMIN_TOKEN);
    return Number(/^toolgate_http_requests_total\{status="200"\} (\d+)/m.exec(text)?.[1] ?? 0);
  };
  greedy.begin({ url: service.url, greeds: [{ kind: 'pings', key, atOnce: CLIENTS }] });
  const first = await answered();
  let most = 0;
  for (let before = first; before - first < ANSWERS; ) {
    const now = await answered();
    most = Math.max(most, now - before);
    before = now;
  }
  await greedy.stop();
  await service.close();
  expect(most).toBeLessThan(MOST_BETWEEN);
});
