// A link to PostgreSQL that can be stalled with its connections open. It is a separate process, so that the load does
// not delay it. It reads the database's address, prints its own, and obeys "stall" and "resume".

import type { Socket } from 'bun';

class Link {
  readonly url: string;
  readonly #listener: Bun.TCPSocketListener<Side>;
  readonly #sides = new Set<Side>();
  #still = false;

  constructor(databaseUrl: string) {
    const target = new URL(databaseUrl);
    this.#listener = Bun.listen<Side>({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        open: socket => {
          const client = new Side(socket);
          socket.data = client;
          this.#sides.add(client);
          this.#dial(client, target.hostname, Number(target.port));
        },
        data: (socket, chunk) => socket.data.take(chunk),
        drain: socket => socket.data.flush(),
        close: socket => this.#end(socket.data),
        error: socket => this.#end(socket.data),
      },
    });
    const own = new URL(databaseUrl);
    own.host = `127.0.0.1:${this.#listener.port}`;
    this.url = own.href;
  }

  stall(): void {
    this.#still = true;
    for (const side of this.#sides) side.still = true;
  }

  resume(): void {
    this.#still = false;
    for (const side of this.#sides) {
      side.still = false;
      side.flush();
    }
  }

  async #dial(client: Side, hostname: string, port: number): Promise<void> {
    const server = new Side(null);
    this.#sides.add(server);
    [client.other, server.other] = [server, client];
    [client.still, server.still] = [this.#still, this.#still];
    try {
      server.socket = await Bun.connect<Side>({
        hostname,
        port,
        data: server,
        socket: {
          data: (socket, chunk) => socket.data.take(chunk),
          drain: socket => socket.data.flush(),
          close: socket => this.#end(socket.data),
          error: socket => this.#end(socket.data),
        },
      });
      server.flush();
    } catch {
      this.#end(client);
    }
  }

  #end(side: Side): void {
    for (const each of [side, side.other]) {
      if (each === null || !this.#sides.delete(each)) continue;
      each.socket?.end();
    }
  }
}

/** One end of a connection through the link, and the data to be written to it. */
class Side {
  socket: Socket<Side> | null;
  other: Side | null = null;
  still = false;
  #waiting: Buffer[] = [];

  constructor(socket: Socket<Side> | null) {
    this.socket = socket;
  }

  take(chunk: Buffer): void {
    this.other?.put(Buffer.from(chunk));
  }

  put(chunk: Buffer): void {
    this.#waiting.push(chunk);
    this.flush();
  }

  flush(): void {
    if (this.still || this.socket === null) return;
    while (this.#waiting.length > 0) {
      const chunk = this.#waiting[0] as Buffer;
      const written = Math.max(this.socket.write(chunk), 0);
      if (written < chunk.length) {
        this.#waiting[0] = chunk.subarray(written);
        return;
      }
      this.#waiting.shift();
    }
  }
}

const link = new Link(process.argv[2] ?? '');
console.log(link.url);
for await (const line of console) {
  if (line === 'stall') link.stall();
  else link.resume();
}
process.exit(0);
