// The core in WebAssembly: what it is handed and what it answers. It throws by way of `fail`, which leaves its stack as
// it was in the middle of the call.

const encoder = new TextEncoder(), decoder = new TextDecoder();

export class Core {
  // From the bytes of core.wasm and of a model.
  static async start(program, data) {
    const core = new Core();
    const js = {
      fail: (place, size) => {
        throw new Error(decoder.decode(core.view(Uint8Array, place, size)));
      },
    };
    core.exports = (await WebAssembly.instantiate(program, { js })).instance.exports;
    core.exports._initialize();
    core.view(Uint8Array, core.call("room", data.length), data.length).set(data);
    core.call("open", data.length);
    return core;
  }

  view(Kind, place, length) {
    return new Kind(this.exports.memory.buffer, place >>> 0, length);
  }

  call(name, ...numbers) {
    const stack = this.exports.__stack_pointer.value;
    try {
      return this.exports[name](...numbers) >>> 0;
    } catch (error) {
      this.exports.__stack_pointer.value = stack;
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      throw new Error(`the core gave up, perhaps for want of memory (${error.message})`);
    }
  }

  // Arrays of 32 bits and behind them a text; how many bytes they take.
  hand(arrays, text) {
    const before = arrays.reduce((sum, each) => sum + 4 * each.length, 0);
    let place = this.call("room", before + 3 * text.length);
    for (const each of arrays) {
      this.view(each.constructor, place, each.length).set(each);
      place += 4 * each.length;
    }
    return before + encoder.encodeInto(text, this.view(Uint8Array, place, 3 * text.length)).written;
  }
}
