#!/usr/bin/env python3
"""What assay writes, judged by onnx's own checker and shape inference. Usage: checker_test.py ASSAY"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import onnx

ASSAY = ""
# The large networks share their building blocks with these; the checker would only take longer.
NETWORKS = ["mlp", "small_cnn", "small_cnn_gap", "lenet5", "resnet18", "mobilenet_v2", "lstm",
            "encoder:layers=2", "stream_mlp"]


class Checker(unittest.TestCase):
    def written(self, network, *flags):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "model.onnx"
        subprocess.run([ASSAY, "-q", "zoo", "export", network, "-o", path, *flags], check=True)
        return str(path)

    def output_shapes(self, path):
        result = subprocess.run([ASSAY, "count", "--json", path], check=True, capture_output=True)
        return [output["shape"] for output in json.loads(result.stdout)["model"]["outputs"]]

    def test_the_checker_accepts_every_network(self):
        for network in NETWORKS:
            with self.subTest(network):
                onnx.checker.check_model(self.written(network), full_check=True)

    def test_the_checker_accepts_external_data(self):
        path = self.written("lenet5", "--external-data")
        onnx.checker.check_model(path, full_check=True)
        inline = onnx.load(self.written("lenet5"))
        external = onnx.load(path)
        for a, b in zip(inline.graph.initializer, external.graph.initializer):
            self.assertEqual((a.name, a.dims, a.raw_data), (b.name, b.dims, b.raw_data))

    def test_onnx_infers_the_same_output_shapes(self):
        for network in NETWORKS:
            with self.subTest(network):
                path = self.written(network)
                model = onnx.shape_inference.infer_shapes(onnx.load(path), strict_mode=True)
                shapes = [[dim.dim_value for dim in output.type.tensor_type.shape.dim]
                          for output in model.graph.output]
                self.assertEqual(shapes, self.output_shapes(path))


if __name__ == "__main__":
    ASSAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
