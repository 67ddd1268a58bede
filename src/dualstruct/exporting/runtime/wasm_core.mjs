// The core in WebAssembly: what it is handed and what it answers. It throws by way of `fail`, in the middle of a call, which
// frees nothing then: after a call that failed, the model is opened again in a memory of its own.

const encoder = new TextEncoder(), decoder = new TextDecoder();

export class Core {
  // From the bytes of core.wasm and of a model.
  static async start(program, data) {
    const core = new Core();
    core.program = await WebAssembly.compile(program);
    core.data = data;
    core.open();
    return core;
  }

  open() {
    const js = {
      fail: (place, size) => {
        throw new Error(decoder.decode(this.view(Uint8Array, place, size)));
      },
    };
    const { program, data } = this;
    this.exports = new WebAssembly.Instance(program, { js }).exports;
    try {
      this.exports._initialize();
      this.view(Uint8Array, this.exports.room(data.length), data.length).set(data);
      this.exports.open(data.length);
    } catch (error) {
      this.exports = null;
      throw said(error);
    }
  }

  view(Kind, place, length) {
    return new Kind(this.exports.memory.buffer, place >>> 0, length);
  }

  call(name, ...numbers) {
    if (!this.exports) this.open();
    try {
      return this.exports[name](...numbers) >>> 0;
    } catch (error) {
      this.exports = null;
      throw said(error);
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

function said(error) {
  if (!(error instanceof WebAssembly.RuntimeError)) return error;
  return new Error(`the core gave up, perhaps for want of memory (${error.message})`);
}
