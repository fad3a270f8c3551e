// A client of this world, a process that is killed at any moment: `client.ts <orders> <notes>`. It makes its calls a few at
// a time, asks for its tasks at whichever replica it likes, and writes down what it saw. Started again, it goes on.

import { openSync, readFileSync } from 'node:fs';
import { random } from '../../support/random.ts';
import { Flow } from './flow.ts';
import { linesOf, writeLine } from './ledger.ts';
import type { Note, Order, Orders } from './orders.ts';

const AT_ONCE = 6;

const [ordersFile, notesFile] = process.argv.slice(2) as [string, string];
const orders = JSON.parse(readFileSync(ordersFile, 'utf8')) as Orders;
const earlier = linesOf<Note>(notesFile);
const notes = openSync(notesFile, 'a');
const chance = random(orders.seed + earlier.length);
const note = (each: Note): void => writeLine(notes, each);

const known = Map.groupBy(earlier, ({ n }) => n);
const isDone = ({ args }: Order): boolean => known.get(args.n)?.some(({ step }) => step === 'done') === true;
const waiting = orders.orders.filter(each => !isDone(each));
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let order = waiting.shift(); order !== undefined; order = waiting.shift())
      await new Flow(orders, order, known.get(order.args.n) ?? [], chance, note).run();
  }),
);
