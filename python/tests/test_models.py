"""Every kind of model gives the same counts; what is shared is not copied."""

import io

import numpy as np
import pytest

import assay
from conftest import needs

PARAMETERS = 61_706  # of LeNet-5


@pytest.fixture(scope="module")
def lenet(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "lenet.onnx"
    assay.load("zoo:lenet5").save(str(path))
    return path


def test_paths_bytes_files_and_models_are_models(lenet):
    for model in (str(lenet), lenet, lenet.read_bytes(), bytearray(lenet.read_bytes()), assay.load(lenet)):
        assert assay.count(model).totals["parameters"] == PARAMETERS
    with open(lenet, "rb") as file:
        assert assay.count(file).totals["parameters"] == PARAMETERS


@needs("onnx")
def test_onnx_messages_are_models(lenet):
    import onnx

    assert assay.count(onnx.load(str(lenet))).totals["parameters"] == PARAMETERS


def test_weights_stay_valid_after_the_model_is_gone(lenet):
    model = assay.load(lenet)
    weights = model.tensors()["conv1.weight"]
    copy = weights.copy()
    del model
    assert np.array_equal(weights, copy)
    assert not weights.flags.writeable


def test_outputs_stay_valid_after_the_program_is_gone():
    program = assay.compile("zoo:lenet5", threads=1)
    first = program(*program.random_inputs(1))
    copy = first.copy()
    program(*program.random_inputs(2))
    del program
    assert np.array_equal(first, copy)


@needs("onnx")
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_outputs_are_nobody_else_s_memory(engine):
    from onnx import TensorProto, helper

    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    nodes = [helper.make_node("Identity", ["c"], ["constant"]), helper.make_node("Identity", ["x"], ["same"]),
             helper.make_node("Relu", ["x"], ["relu"])]
    outputs = [value("constant", [2]), value("same", [2, 3]), value("relu", [2, 3])]
    constant = helper.make_tensor("c", TensorProto.FLOAT, [2], [1.0, 2.0])
    graph = helper.make_graph(nodes, "g", [value("x", [2, 3])], outputs, [constant])
    message = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    program = assay.compile(message, engine=engine)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    first = program(x)
    kept = [array.copy() for array in first]
    x[:] = -1
    program(np.full((2, 3), 9, np.float32))
    assert all(np.array_equal(array, copy) for array, copy in zip(first, kept))
    for array in first:
        array[...] = 55
    again = program(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert all(np.array_equal(array, copy) for array, copy in zip(again, kept))


def test_inputs_are_given_by_position_or_by_name():
    program = assay.compile("zoo:lenet5", threads=1)
    x = program.random_inputs()[0]
    assert np.array_equal(program(x), program(**{program.inputs[0]["name"]: x}))


def test_a_program_computes_the_same_on_every_engine():
    x = assay.compile("zoo:lenet5").random_inputs()[0]
    fast = assay.compile("zoo:lenet5", engine="cpu")(x)
    plain = assay.compile("zoo:lenet5", engine="reference")(x)
    assert np.allclose(fast, plain, rtol=1e-3, atol=1e-4)


def test_arrays_are_shared_and_not_copied():
    array = np.zeros((2, 3), np.float32)
    tensor = assay._arrays.tensor(array)
    array[1, 2] = 7
    assert tensor.numpy()[1, 2] == 7


@needs("torch")
def test_torch_tensors_are_shared_by_dlpack():
    import torch

    class OnlyDlpack:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **options):
            return self.tensor.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    values = torch.zeros(2, 3)
    for shared in (values, OnlyDlpack(values)):
        tensor = assay._arrays.tensor(shared)
        values[0, 1] += 1
        assert tensor.numpy()[0, 1] == values[0, 1]


@needs("torch")
class TestTorch:
    def network(self):
        import torch

        return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                                   torch.nn.Flatten(), torch.nn.Linear(8 * 64, 10))

    def test_counts_are_those_of_torch(self):
        import torch

        network = self.network()
        counted = assay.count(network, torch.zeros(1, 3, 8, 8))
        assert counted.totals["parameters"] == sum(p.numel() for p in network.parameters())
        assert counted.totals["statistics"] == 16
        assert [layer["name"] for layer in counted.layers if layer["parameters"]] == ["0", "1", "4"]

    def test_outputs_are_those_of_torch(self):
        import torch

        network = self.network().eval()
        x = torch.randn(5, 3, 8, 8)
        assert np.allclose(assay.compile(network, x)(x.numpy()), network(x).detach().numpy(), atol=1e-5)

    def test_programs_take_torch_tensors(self):
        import torch

        network = self.network().eval()
        x = torch.randn(2, 3, 8, 8, requires_grad=True)
        program = assay.compile(network, x)
        assert np.allclose(program(x), network(x).detach().numpy(), atol=1e-5)
        assert torch.from_numpy(program(x)).shape == (2, 10)

    def test_parameters_are_shared(self):
        import torch

        network = self.network()
        model = assay.load(network, torch.zeros(1, 3, 8, 8))
        with torch.no_grad():
            network[4].bias[0] = 42
        assert model.tensors()["4.bias"][0] == 42

    def test_parameters_live_as_long_as_the_model(self):
        import torch

        model = assay.load(self.network(), torch.zeros(1, 3, 8, 8))
        assert assay.compile(model, input_shapes=(1, 3, 8, 8))(np.zeros((1, 3, 8, 8), np.float32)).shape == (1, 10)

    def test_every_module_keeps_its_mode(self):
        import torch

        network = self.network().train()
        network[1].eval()
        assay.count(network, torch.zeros(1, 3, 8, 8))
        assert [part.training for part in network] == [True, False, True, True, True]

    def test_tied_weights_count_once(self):
        import torch

        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.encode = torch.nn.Linear(6, 6, bias=False)
                self.decode = torch.nn.Linear(6, 6, bias=False)
                self.decode.weight = self.encode.weight

            def forward(self, x):
                return self.decode(self.encode(x))

        assert assay.count(Tied(), torch.zeros(1, 6)).totals["parameters"] == 36

    def test_shapes_stand_in_for_inputs(self):
        assert assay.count(self.network(), input_shapes=(1, 3, 8, 8)).totals["parameters"] == 8 * 28 + 16 + 10 * 513

    def test_a_module_that_cannot_be_exported_is_an_error(self):
        import torch

        class Unusual(torch.nn.Module):
            def forward(self, x):
                return torch.linalg.lstsq(x, x)

        class OutsideOfTorch(torch.nn.Module):
            def forward(self, x):
                return torch.from_numpy(np.sort(x.numpy()))

        for module in (Unusual(), OutsideOfTorch()):
            with pytest.raises(assay.Error, match="cannot export"):
                assay.count(module, torch.zeros(4, 4))

    def test_a_module_without_numbers_is_an_error(self):
        import torch

        with pytest.raises(assay.BadInputError, match="meta"):
            assay.count(torch.nn.Linear(4, 3, device="meta"), torch.zeros(2, 4))

    def test_modules_are_exported_without_the_package_onnx(self, monkeypatch):
        import sys

        import torch

        monkeypatch.setitem(sys.modules, "onnx", None)
        assert assay.count(torch.nn.Linear(4, 3), torch.zeros(2, 4)).totals["parameters"] == 15

    def same_as_torch(self, module, inputs, positional=(), named=None):
        """Whether the program, called with arrays by name, computes what the module does."""
        import torch

        module = module.eval()
        program = assay.compile(module, inputs)
        fed = {value["name"]: array for value, array in zip(program.inputs, self.arrays([positional, named or {}]))}
        with torch.no_grad():
            expected = module(*positional, **(named or {}))
        return np.allclose(program(**fed), expected.numpy(), atol=1e-5)

    def arrays(self, value):
        import torch

        if isinstance(value, torch.Tensor):
            return [value.numpy()]
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
        return [array for part in parts for array in self.arrays(part)]

    def test_inputs_may_be_nested(self):
        import torch

        class Recurrent(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = torch.nn.LSTM(8, 16)

            def forward(self, x, state):
                return self.rnn(x, state)[0]

        class Pair(torch.nn.Module):
            def forward(self, parts):
                return parts["x"] - parts["y"]

        x, h, c = torch.randn(3, 2, 8), torch.randn(1, 2, 16), torch.randn(1, 2, 16)
        model = assay.load(Recurrent(), (x, (h, c)))
        assert [value["name"] for value in model.inputs] == ["x", "state_0", "state_1"]
        assert self.same_as_torch(Recurrent(), (x, (h, c)), (x, (h, c)))
        parts = {"x": h, "y": c}
        assert self.same_as_torch(Pair(), (parts,), (parts,))

    def test_inputs_by_name_reach_their_parameters(self):
        import torch

        class Masked(torch.nn.Module):
            def forward(self, x, mask=None, kind=None, *, scale=None, negate=False):
                x = x if mask is None else x * mask
                x = x if kind is None else x + kind
                x = x if scale is None else x * scale
                return -x if negate else x

        x, kind = torch.randn(2, 3), torch.randn(2, 3)
        named = {"x": x, "kind": kind, "scale": torch.tensor([2.0]), "negate": True}
        assert self.same_as_torch(Masked(), named, named=named)  # and not kind as the mask
        assert self.same_as_torch(Masked(), {"x": x, "mask": None, "kind": kind}, named={"x": x, "kind": kind})
        with pytest.raises(assay.Error, match="no argument 'colour'"):
            assay.count(Masked(), {"x": x, "colour": x})
        with pytest.raises(assay.Error, match="no array among the inputs"):
            assay.count(Masked(), (None, True))

    def test_scripts_are_models(self):
        import torch

        network = self.network().eval()
        x = torch.randn(2, 3, 8, 8)
        for script in (torch.jit.script(network), torch.jit.trace(network, x)):
            assert np.allclose(assay.compile(script, x)(x), network(x).detach().numpy(), atol=1e-5)

    def test_layers_of_the_module_itself_have_its_name(self):
        import torch

        class Doubled(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = torch.nn.LayerNorm(4)

            def forward(self, x):
                return self.norm(x) * 2

        assert [layer["name"] for layer in assay.count(torch.nn.Linear(4, 3), torch.zeros(2, 4)).layers] == ["Linear"]
        names = [layer["name"] for layer in assay.count(Doubled(), torch.zeros(2, 4)).layers]
        assert names[-1] == "Doubled"
        assert all(name == "norm" or name.startswith("norm.") for name in names[:-1])

    def test_comparisons_have_the_names_of_modules(self):
        import torch

        comparison = assay.compare(torch.nn.Linear(64, 64), torch.nn.Linear(64, 8), torch.zeros(1, 64), max_time=0.5)
        assert comparison["a"]["model"] == comparison["b"]["model"] == "Linear"
        assert "/tmp" not in str(comparison)

    def test_a_deployment_runs_batches_of_its_own_size(self):
        import torch

        module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
        for given in ({"inputs": torch.zeros(1, 1, 28, 28)}, {"input_shapes": (1, 1, 28, 28)}):
            assert assay.simulate_deployment(module, 8, seconds=0.05, **given)["batch"] == 8

    def test_losses_of_torch_are_known_as_objects_and_functions(self):
        import torch

        x = torch.zeros(2, 4)
        passes = [assay.profile_backward_pass(torch.nn.Linear(4, 3), x, loss)["loss_flops"]
                  for loss in (torch.nn.MSELoss(), torch.nn.functional.mse_loss, "mean-squared-error")]
        assert passes[0] == passes[1] == passes[2]
        with pytest.raises(assay.UsageError, match="KLDivLoss"):
            assay.profile_backward_pass(torch.nn.Linear(4, 3), x, torch.nn.KLDivLoss())

    def test_training_takes_the_batches_of_the_loader(self):
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        data = TensorDataset(torch.randn(40, 1, 28, 28), torch.randint(0, 10, (40,)))
        for loader in (DataLoader(data, batch_size=8), DataLoader(data, batch_size=40)):
            assert len(assay.train("zoo:small_cnn_gap", loader).epochs) == 1

    def test_a_module_without_inputs_is_an_error(self):
        with pytest.raises(assay.UsageError, match="example inputs"):
            assay.count(self.network())

    def test_a_loader_is_data(self):
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        data = TensorDataset(torch.randn(50, 3, 8, 8), torch.randint(0, 10, (50,)))
        network = self.network().eval()
        accuracy = assay.metrics.evaluate_accuracy(network, DataLoader(data, batch_size=16))
        with torch.no_grad():
            right = (network(data.tensors[0]).argmax(1) == data.tensors[1]).float().mean().item()
        assert accuracy == pytest.approx(right, abs=1e-6)
        model = assay.load(network, data.tensors[0][:1])
        assert assay.metrics.evaluate_accuracy(model, DataLoader(data, batch_size=16, num_workers=1)) == pytest.approx(accuracy)

    def test_a_trained_torch_network_learns(self):
        import torch

        network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
        trained = assay.train(network, "synthetic", epochs=2, train_subset=512, val_subset=128)
        assert trained.epochs[-1]["loss"] < trained.epochs[0]["loss"]


def test_a_layer_is_a_model():
    assert assay.count(assay.Linear(128, 64), input_shapes=(1, 128)).totals["parameters"] == 8256


def test_dimensions_can_be_bound(lenet):
    assert assay.count(lenet, batch=4).totals["macs"] == 4 * assay.count(lenet).totals["macs"]


def test_a_file_in_memory_is_a_model(lenet):
    assert assay.count(io.BytesIO(lenet.read_bytes())).totals["parameters"] == PARAMETERS
