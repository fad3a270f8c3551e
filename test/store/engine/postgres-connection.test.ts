// One connection to PostgreSQL by itself, against a server that is not ready to serve anybody.

import { expect, test } from 'bun:test';
import { type AddressInfo, createServer } from 'node:net';
import { Connection } from '../../../src/store/engine/postgres-connection.ts';
import { refusal } from '../../support/refusal.ts';

/** What a server says to whoever comes while it recovers. */
function startingUp(): Buffer {
  const fields = ['SFATAL', 'C57P03', 'Mthe database system is starting up', ''].join('\0');
  const message = Buffer.alloc(1 + 4 + fields.length + 1);
  message.write('E');
  message.writeInt32BE(message.length - 1, 1);
  message.write(fields, 5);
  return message;
}

test('a server that is starting up is given a quarter of a second before it is asked again', async () => {
  const asked: number[] = [];
  const server = createServer(socket => {
    asked.push(performance.now());
    socket.on('error', () => {}).once('data', () => socket.end(startingUp()));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `postgres://ann:secret@127.0.0.1:${port}/store`;
  const connection = new Connection({ url, pooling: 'session', patience: 1, misled: () => {} });
  for (let n = 0; n < 3; n++)
    expect(String(await refusal(connection.all('SELECT 1')))).toContain('the database system is starting up');
  expect(asked).toHaveLength(3);
  const waits = asked.slice(1).map((at, before) => at - (asked[before] as number));
  // A timer may be early by its own grain.
  expect(Math.min(...waits)).toBeGreaterThan(240);
  server.close();
});
