.venv/bin/pip install -q --no-build-isolation --no-deps -C build-dir=build/dev -C cmake.define.DUALSTRUCT_WERROR=ON . 2>&1 | grep -E "error|warning:|Error" -A6 | head -${1:-60}
